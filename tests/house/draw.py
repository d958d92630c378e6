#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the floors and rooms as SVG: an arrow from each room to those that its files include from. A room stands above all
rooms of its floor that it includes from, and floors stand as in floors.txt, so that every arrow points down. An arrow that
two others make, from A to B and from B to C, is left out; so is the room that a floor without rooms would have.

Usage: draw.py ROOT > docs/architecture.svg"""
import os
import sys

import includes

WIDTH, LEFT, RIGHT, BOX, ROW, GAP, TOP = 1240, 120, 20, 24, 58, 26, 54
COLORS = {"include": "#546e7a", "core": "#8d6e63", "stages": "#2e7d32", "io": "#1565c0", "cuda": "#6a1b9a", "datasets": "#00838f", "pipeline": "#c62828", "program": "#ad1457", "lab": "#ef6c00"}


def room_of(path):
    floor, room = includes.place(path)
    return (floor, room or floor)


def arrows(root, house):
    """{room: the rooms that its files include from}, itself left out. stages/stages.def stands in no room."""
    paths = list(includes.sources(root, house))
    found = {room_of(path): set() for path in paths}
    for path in paths:
        found[room_of(path)] |= {room_of(target) for _, target in includes.includes(root, path)} & set(found)
    return {room: targets - {room} for room, targets in found.items()}


def reachable(graph, start):
    """Every room that `start` leads to."""
    seen, todo = set(), list(graph[start])
    while todo:
        room = todo.pop()
        if room not in seen:
            seen.add(room)
            todo += graph[room]
    return seen


def reduced(graph):
    """The same without arrows that others imply."""
    below = {room: reachable(graph, room) for room in graph}
    return {room: {target for target in targets if not any(target in below[other] for other in targets if other != target)}
            for room, targets in graph.items()}


def heights(graph, rooms):
    """{room: its row on its floor, counted from below}"""
    rows = {}
    for room in rooms:  # in the order of floors.txt: what a room includes from stands before it
        rows[room] = 1 + max((rows[target] for target in graph[room] if target in rows), default=-1)
    return rows


def places(graph, drawn, house):
    """{room: (x, y) of the middle of its box}, {floor: (top, bottom)}, and the height of the picture."""
    at, bands, floors = {}, {}, []
    for floor, (_, rooms) in house.items():
        rooms = [(floor, room) for room in rooms or [floor] if (floor, room) in graph]
        floors.append((floor, rooms, heights(graph, rooms)))
    height = TOP + sum((max(rows.values()) + 1) * ROW + GAP for _, _, rows in floors)
    bottom = height
    lone = 0
    for floor, rooms, rows in floors:
        n_rows = max(rows.values()) + 1
        bands[floor] = (bottom - n_rows * ROW, bottom)
        for row in range(n_rows):
            # Over the middle of what they point to.
            members = sorted((room for room in rooms if rows[room] == row),
                             key=lambda room: sum(at[t][0] for t in drawn[room]) / max(len(drawn[room]), 1))
            # Rows are shifted, so that long arrows pass beside the boxes between.
            lone += len(members) == 1
            shift = 0.12 * (-1) ** row if len(members) > 1 else (0, 0.1, -0.07)[lone % 3]
            for i, room in enumerate(members):
                x = LEFT + (WIDTH - LEFT - RIGHT) * (i + 0.5 + shift) / len(members)
                at[room] = (x, bottom - row * ROW - ROW / 2)
        bottom -= n_rows * ROW + GAP
    return at, bands, height


def box_width(name):
    return 16 + 7.4 * len(name)


def draw(root, house):
    graph = arrows(root, house)
    drawn = reduced(graph)
    at, bands, height = places(graph, drawn, house)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height + 12}" font-family="sans-serif" font-size="13">',
           '<title>The floors and rooms of tomostage, by their includes</title>',
           f'<rect width="{WIDTH}" height="{height + 12}" fill="white"/>',
           '<text x="20" y="24" font-size="17">Floors and rooms: every arrow goes from a room to one that its files include from</text>',
           '<text x="20" y="43" fill="#555">An arrow is left out where others lead the same way. Drawn by tests/house/draw.py from the includes.</text>']
    for floor, color in COLORS.items():
        out.append(f'<marker id="{floor}" markerWidth="8" markerHeight="8" refX="7" refY="3" orient="auto">'
                   f'<path d="M0 0 L7 3 L0 6 z" fill="{color}"/></marker>')
    for floor, (top, bottom) in bands.items():
        color = COLORS[floor]
        out.append(f'<rect x="8" y="{top - 4}" width="{WIDTH - 16}" height="{bottom - top + 8}" rx="6" fill="{color}" fill-opacity="0.07"/>')
        out.append(f'<text x="20" y="{(top + bottom) / 2 + 5}" font-size="16" font-weight="bold" fill="{color}">{floor}/</text>')
    for room in sorted(drawn):
        (x, y), color = at[room], COLORS[room[0]]
        for target in sorted(drawn[room]):
            tx, ty = at[target]
            start, end = y + BOX / 2, ty - BOX / 2 - 1
            bend = (end - start) * 0.5
            out.append(f'<path d="M{x:.0f} {start:.0f} C{x:.0f} {start + bend:.0f} {tx:.0f} {end - bend:.0f} {tx:.0f} {end:.0f}" '
                       f'fill="none" stroke="{color}" stroke-opacity="0.55" marker-end="url(#{room[0]})"/>')
    for room in sorted(at):
        (x, y), color, width = at[room], COLORS[room[0]], box_width(room[1])
        out.append(f'<rect x="{x - width / 2:.0f}" y="{y - BOX / 2:.0f}" width="{width:.0f}" height="{BOX}" rx="4" fill="white" stroke="{color}"/>')
        out.append(f'<text x="{x:.0f}" y="{y + 4.5:.0f}" text-anchor="middle">{room[1]}</text>')
    return "\n".join(out + ["</svg>", ""])


if __name__ == "__main__":
    house = includes.floors(os.path.join(os.path.dirname(os.path.abspath(__file__)), "floors.txt"))
    sys.stdout.write(draw(sys.argv[1], house))

/* SPDX-License-Identifier: Apache-2.0
 *
 * Keys and the mouse. Presets are windows in HU as radiologists use them (center and width: abdomen 40, 400; lung -600,
 * 1500; bone 400, 1800; brain 40, 80), and mean nothing in another unit, which the scene then says.
 */
#include "pipeline/view/scene.h"

#include <math.h>
#include <string.h>

const char *const ts_scene_keys[] = {"?          these keys",
                                     "1 2 3 4    abdomen, lung, bone, brain (CT in HU)",
                                     "5 6        full range, 1st to 99th percentile",
                                     "right drag window (across) and level (down)",
                                     "left click cross-hair; on the bar: slider",
                                     "mid drag   move the image",
                                     "wheel , .  one slice;  < >  ten slices",
                                     "ctrl wheel + -  zoom;  0  all of it again",
                                     "p m        next plane; three planes or one",
                                     "x h        cross-hair; histogram",
                                     "i c l      invert; colors; interpolate",
                                     "n b        next, previous image",
                                     "t          next table",
                                     "[ ]        slider down, up",
                                     "space s q  movie; screenshot; quit",
                                     NULL};

static const struct preset {
    char key;
    const char *name;
    double center, width;
} presets[] = {{'1', "abdomen", 40, 400}, {'2', "lung", -600, 1500}, {'3', "bone", 400, 1800}, {'4', "brain", 40, 80}};

static void set_window(struct scene *scene, double low, double high, const char *name)
{
    scene->low = low;
    scene->high = high;
    scene->window_name = name;
}

static void use_preset(struct scene *scene, const struct preset *preset)
{
    if (scene->image->quantity == TS_HU)
        set_window(scene, preset->center - preset->width / 2, preset->center + preset->width / 2, preset->name);
    else
        snprintf(scene->note, sizeof scene->note, "The window '%s' is in HU, and these values are not.", preset->name);
}

void ts_scene_begin(struct scene *scene, const struct ts_image *image, const struct display_histogram *histogram)
{
    const bool first = scene->zoom == 0;
    scene->image = image;
    scene->histogram = histogram;
    for (int i = 0; i < 3; i++)
        scene->at[i] = (image->axes[i].n - 1) / 2;
    if (first) {
        scene->three = image->axes[0].n > 1 && !ts_image_is_sinogram(image);
        scene->cross = scene->panel = true;
        scene->x = scene->y = -1;
    }
    scene->zoom = 1;
    memset(scene->pan, 0, sizeof scene->pan);
    if (image->quantity == TS_HU)
        use_preset(scene, &presets[0]);
    else
        set_window(scene, histogram->dark, histogram->bright, "1st to 99th percentile");
}

void ts_scene_scroll(struct scene *scene, int64_t n)
{
    int64_t at[3];
    bool inside;
    const int under = ts_scene_pick(scene, scene->x, scene->y, at, &inside);
    const int axis = under >= 0 ? under : scene->slider ? 0 : scene->plane;
    const int64_t to = scene->at[axis] + n, last = scene->image->axes[axis].n - 1;
    scene->at[axis] = to < 0 ? 0 : to > last ? last : to;
}

static void zoom_by(struct scene *scene, double factor)
{
    scene->zoom = fmin(fmax(scene->zoom * factor, 0.1), 64);
}

void ts_scene_wheel(struct scene *scene, double steps, bool zooms)
{
    if (zooms)
        zoom_by(scene, pow(1.15, steps));
    else
        ts_scene_scroll(scene, (int64_t)lround(steps));
}

static enum scene_wish wish_step(struct scene *scene, enum scene_wish wish, int step)
{
    scene->step = step;
    return wish;
}

static enum scene_wish wish_slider(struct scene *scene, double value)
{
    if (!scene->slider)
        return WISH_NOTHING;
    scene->slider_value = value;
    return WISH_SLIDER;
}

/* Keys that change how the image is shown. Returns false where the key is none of them. */
static bool change_look(struct scene *scene, int key)
{
    for (size_t i = 0; i < sizeof presets / sizeof *presets; i++)
        if (key == presets[i].key)
            return use_preset(scene, &presets[i]), true;
    switch (key) {
    case '5':
        return set_window(scene, scene->histogram->low, scene->histogram->high, "full range"), true;
    case '6':
        return set_window(scene, scene->histogram->dark, scene->histogram->bright, "1st to 99th percentile"), true;
    case 'i':
        return scene->invert = !scene->invert, true;
    case 'c':
        return scene->colors = (scene->colors + 1) % COLORS_MAPS, true;
    case 'l':
        return scene->linear = !scene->linear, true;
    case 'x':
        return scene->cross = !scene->cross, true;
    case 'h':
        return scene->panel = !scene->panel, true;
    case '?':
        return scene->help = !scene->help, true;
    default:
        return false;
    }
}

/* Keys that change where the user stands. Returns false where the key is none of them. */
static bool change_place(struct scene *scene, int key)
{
    switch (key) {
    case ',':
    case '.':
        return ts_scene_scroll(scene, key == '.' ? 1 : -1), true;
    case '<':
    case '>':
        return ts_scene_scroll(scene, key == '>' ? 10 : -10), true;
    case '+':
    case '-':
        return zoom_by(scene, key == '+' ? 1.25 : 0.8), true;
    case '0':
        scene->zoom = 1;
        memset(scene->pan, 0, sizeof scene->pan);
        return true;
    case 'p':
        return scene->plane = (scene->plane + 1) % SCENE_PLANES, true;
    case 'm':
        return scene->three = !scene->three, true;
    default:
        return false;
    }
}

enum scene_wish ts_scene_key(struct scene *scene, int key)
{
    scene->note[0] = '\0';
    if (change_look(scene, key) || change_place(scene, key))
        return WISH_NOTHING;
    switch (key) {
    case ' ':
        scene->playing = !scene->playing;
        return WISH_NOTHING;
    case 'n':
    case 'b':
        return wish_step(scene, WISH_IMAGE, key == 'n' ? 1 : -1);
    case 't':
        return wish_step(scene, WISH_TABLE, 1);
    case '[':
    case ']':
        return scene->slider ? wish_slider(scene, scene->slider->value + (key == ']' ? 1 : -1) * scene->slider->step)
                             : WISH_NOTHING;
    case 's':
        return WISH_SCREENSHOT;
    case 'q':
        return WISH_QUIT;
    default:
        return WISH_UNKNOWN;
    }
}

/* Returns the value of the slider at the pointer's place on its bar; *on: the pointer is there. */
static double value_at(const struct scene *scene, bool *on)
{
    const struct rectangle bar = ts_scene_slider_bar(scene);
    const double part = bar.width > 1 ? (double)(scene->x - bar.left) / (bar.width - 1) : 0;
    *on = bar.width > 1 && scene->y >= bar.top && scene->y < bar.top + bar.height && part >= 0 && part <= 1;
    return *on ? scene->slider->low + part * (scene->slider->high - scene->slider->low) : 0;
}

enum scene_wish ts_scene_press(struct scene *scene, int button)
{
    bool inside, on;
    int64_t at[3];
    const double value = value_at(scene, &on);
    if (button != BUTTON_LEFT)
        return WISH_NOTHING;
    if (on)
        return wish_slider(scene, value);
    if (ts_scene_pick(scene, scene->x, scene->y, at, &inside) >= 0 && inside)
        memcpy(scene->at, at, sizeof at);
    return WISH_NOTHING;
}

/* Dragging over a tenth of the picture widens the window by a half, or moves its center by a quarter of its width. */
static void drag_window(struct scene *scene, int32_t dx, int32_t dy)
{
    const double width = fmax(scene->high - scene->low, 1e-12), center = (scene->low + scene->high) / 2;
    const double wider = width * pow(1.5, 10.0 * dx / scene->width);
    const double moved = center + width * 2.5 * dy / scene->height;
    set_window(scene, moved - wider / 2, moved + wider / 2, NULL);
}

static void drag_image(struct scene *scene, int32_t dx, int32_t dy)
{
    int64_t before[3], after[3];
    bool inside;
    if (ts_scene_pick(scene, scene->x - dx, scene->y - dy, before, &inside) < 0 ||
        ts_scene_pick(scene, scene->x, scene->y, after, &inside) < 0)
        return;
    for (int i = 0; i < 3; i++)
        scene->pan[i] -= (double)(after[i] - before[i]);
}

enum scene_wish ts_scene_drag(struct scene *scene, int32_t x, int32_t y, int button)
{
    const int32_t dx = x - scene->x, dy = y - scene->y;
    const bool was_here = scene->x >= 0 && scene->y >= 0;
    scene->x = x;
    scene->y = y;
    if (button == BUTTON_LEFT)
        return ts_scene_press(scene, button);
    if (button == BUTTON_RIGHT && was_here)
        drag_window(scene, dx, dy);
    if (button == BUTTON_MIDDLE && was_here)
        drag_image(scene, dx, dy);
    return WISH_NOTHING;
}

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Real Slurm on this machine runs datasets/workflows/slurm.sbatch as it is. Three slurmd are its nodes, each with a name and
# shared memory of its own, so that ranks on two of them find each other through the network.
#
# - A job meets its time limit, stops at a checkpoint, goes back into the queue, and ends with the bytes of a run without a stop.
# - A job that is canceled goes on when it is submitted again; results of one name share a SCRATCH.
# - A job whose chain is wrong ends at once.
# - A step finds its cores and memory in its control groups.
# - Ranks on several nodes, of a build with MPI: the time limit, a wrong chain, and a rank that is killed, which ends the job.
#
# usage: test_slurm.sh PROGRAM SOURCE. Exits with 77 where TOMOSTAGE_SLURM is not 1, or Slurm, munge or root is not there.
set -u
if [ "${TOMOSTAGE_SLURM:-}" != 1 ]; then
    echo "SKIPPED: it takes minutes, and how many depends on the machine; TOMOSTAGE_SLURM=1 runs it"
    exit 77
fi
program=$(readlink -f "$1") source=$(readlink -f "$2")
for needed in slurmctld slurmd munged sbatch pgrep; do
    if ! command -v $needed >/dev/null; then
        echo "SKIPPED: $needed is not installed (apt-get install slurmctld slurmd slurm-client munge procps)"
        exit 77
    fi
done
if [ "$(id -u)" != 0 ]; then
    echo "SKIPPED: only root can start slurmd"
    exit 77
fi
if ! unshare -mu true 2>/dev/null; then
    echo "SKIPPED: namespaces may not be made here, in which slurmd are nodes"
    exit 77
fi
folder=$(mktemp -d) host=$(hostname -s)
base=$((20000 + $$ % 20000)) # ports, of which another run on this machine has others

stop_daemons() {
    for file in "$folder"/*.pid "$folder"/munge/pid; do
        [ -s "$file" ] && kill "$(cat "$file")"
    done 2>/dev/null
    sleep 1
    rm -rf "$folder"
    [ $groups = no ] || find /sys/fs/cgroup/*/slurm_n[123] -depth -type d -exec rmdir {} + 2>/dev/null
}
groups=no
trap stop_daemons EXIT

fail() {
    echo "FAILED: $*"
    tail -n 20 "$folder"/log/* "$folder"/job/*.log
    exit 1
}

# Slurm is told of control groups where groups for memory and cores can be made.
find_groups() {
    local made=()
    for kind in memory cpuset freezer; do
        mkdir "/sys/fs/cgroup/$kind/tomostage-test" 2>/dev/null && made+=("/sys/fs/cgroup/$kind/tomostage-test")
    done
    [ ${#made[@]} != 3 ] || groups=yes
    [ ${#made[@]} = 0 ] || rmdir "${made[@]}"
}

start_daemons() {
    mkdir -p "$folder"/{state,log,munge,job,scratch,spool/n{1,2,3},tmp/n{1,2,3}}
    chmod 755 "$folder" "$folder/munge"
    head -c 1024 /dev/urandom >"$folder/munge/key"
    chmod 400 "$folder/munge/key"
    munged --force --key-file="$folder/munge/key" --socket="$folder/munge/socket" --pid-file="$folder/munge/pid" \
        --log-file="$folder/munge/log" --seed-file="$folder/munge/seed" 2>/dev/null || fail "munged does not start"
    cat >"$folder/slurm.conf" <<END
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$folder/munge/socket
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/$([ $groups = yes ] && echo cgroup || echo none)
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SlurmctldPort=$base
SlurmdSpoolDir=$folder/spool/%n
TmpFS=$folder/tmp/%n
StateSaveLocation=$folder/state
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd-%n.pid
SlurmctldLogFile=$folder/log/slurmctld
SlurmdLogFile=$folder/log/%n
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=5
MailProg=/bin/true
$(for n in 1 2 3; do echo "NodeName=n$n NodeHostname=$host NodeAddr=127.0.0.1 Port=$((base + n)) CPUs=$(nproc) RealMemory=1000"; done)
PartitionName=main Nodes=ALL Default=YES State=UP
END
    printf '%s\n' CgroupPlugin=cgroup/v1 CgroupAutomount=no CgroupMountpoint=/sys/fs/cgroup ConstrainRAMSpace=yes ConstrainCores=yes \
        >"$folder/cgroup.conf"
    export SLURM_CONF=$folder/slurm.conf
    slurmctld -c || fail "slurmctld does not start"
    for n in n1 n2 n3; do
        unshare -mu bash -c 'mount --make-rprivate / && mount -t tmpfs none /dev/shm && hostname "$1" && exec slurmd -N "$1"' bash $n ||
            fail "slurmd does not start"
    done
    for _ in $(seq 60); do
        [ "$(sinfo -h -o %T 2>/dev/null)" = idle ] && return
        sleep 1
    done
    fail "the nodes are not idle: $(sinfo 2>&1)"
}

# Prints one field of a job.
field() { scontrol show job "$1" | grep -o "\b$2=[^ ]*" | cut -d= -f2; }

# Submits the file of the workflows with these options, and sets `job`.
submit() { job=$(cd "$folder/job" && sbatch --parsable "$@") || fail "sbatch $*"; }

# Waits until the job is over. Slurm lets a job that was requeued wait for two minutes, in which its old steps end. Here
# seconds are enough.
await() {
    for _ in $(seq 600); do
        case $(field "$job" JobState) in
        PENDING) [ "$(field "$job" Reason)" = BeginTime ] && sleep 10 && scontrol update "JobId=$job" StartTime=now ;;
        COMPLETED | FAILED | CANCELLED | TIMEOUT | NODE_FAIL) return ;;
        esac
        sleep 1
    done
    fail "job $job is $(field "$job" JobState) after 10 minutes"
}

# Compares the result of a job with that of the chain without a stop.
same() { cmp "$folder/job/whole-$1.h5" "$folder/job/${2:-$1.h5}" || fail "${2:-$1.h5} has other bytes than a run without a stop"; }
gone() { [ ! -e "$folder/job/$1.checkpoint" ] || fail "the checkpoint of $1 is still there"; }

find_groups
start_daemons
export TOMOSTAGE=$program TOMOSTAGE_RATES='' OMP_WAIT_POLICY=passive
sbatch=$source/datasets/workflows/slurm.sbatch
cd "$folder/job" || exit 1
# Each volume is a slab of about a second, after which a run can stop. The shortest limit of Slurm is a minute, and it looks
# every half one whether a signal is due: the long chain takes a minute of one core.
write_series() { # VOLUMES NAME
    python3 -c 'import sys
sys.path.insert(0, sys.argv[2] + "/tests/results")
from harness import write_nifti
write_nifti(sys.argv[4] + ".nii", int(sys.argv[3]), 10, 66, 66, lambda v, z, i: (v + 3) * (i % 17) / 3 + z)' "$program" "$source" "$1" "$2"
    cat >"$2.yaml" <<END
tomostage: 2
input: {nifti: $2.nii}
stages: [{nlm: {patch_size: 5, patch_distance: 8, dimensions: 3d}}, statistics]
output: {hdf5: result.h5}
END
    "$program" run "$2.yaml" -o "whole-$2.h5" --quiet || fail "the run of $2.yaml without a stop"
}
write_series 60 long
write_series 12 short

submit --time=1 --signal=USR1@45 --mem=300 "$sbatch" long.yaml long.h5
await
[ "$(field "$job" JobState)" = COMPLETED ] || fail "the job ended as $(field "$job" JobState)"
restarts=$(field "$job" Restarts)
[ "$restarts" -ge 1 ] || fail "the job met no time limit"
grep -q 'no checkpoint is in' "tomostage-$job.log" && grep -q ' kept in ' "tomostage-$job.log" ||
    fail "the log does not say that the run stopped and went on"
same long
gone long.h5
echo "time limit: the same bytes after $restarts restarts"

# Waits until a checkpoint holds a slab beside what describes it.
await_slab() {
    for _ in $(seq 300); do
        compgen -G "$1/*.slab" >/dev/null && return
        sleep 0.2
    done
    fail "no slab is in $1"
}

# Two results of one name keep their checkpoints in one folder.
export SCRATCH=$folder/scratch
mkdir other
submit --time=9 --mem=300 "$sbatch" short.yaml canceled.h5
await_slab "$SCRATCH/canceled.h5.*.checkpoint"
scancel "$job"
await
[ ! -e canceled.h5 ] && ls "$SCRATCH"/canceled.h5.*.checkpoint/run.txt >/dev/null || fail "the job was not canceled in its midst"
submit --time=9 --mem=300 "$sbatch" 'nifti short.nii | box radius=1 | hdf5 x.h5' other/canceled.h5
await
[ "$(field "$job" JobState)" = COMPLETED ] && [ "$(ls "$SCRATCH")" = "$(basename "$SCRATCH"/canceled.h5.*.checkpoint)" ] ||
    fail "a result of the same name ended as $(field "$job" JobState), beside $(ls "$SCRATCH")"
submit --time=9 --nodelist=n2 --mem=300 "$sbatch" short.yaml canceled.h5
await
grep -q 'no checkpoint is in' "tomostage-$job.log" && fail "the job has not gone on"
same short canceled.h5
[ -z "$(ls "$SCRATCH")" ] || fail "left behind: $(ls "$SCRATCH")"
unset SCRATCH
echo "canceled: the same bytes on the other node"

sed 's/patch_size: 5/patch_size: 4/' short.yaml >wrong.yaml
expect_wrong() {
    submit --time=9 "$@" "$sbatch" wrong.yaml wrong.h5
    await
    [ "$(field "$job" ExitCode)" = 2:0 ] && [ "$(field "$job" Restarts)" = 0 ] ||
        fail "a wrong chain ends with $(field "$job" ExitCode)"
}
expect_wrong
echo "wrong chain: not repeated"

if [ $groups = yes ]; then
    # Only the groups tell the step of its limits.
    found=$(srun --mem=200 --cpus-per-task=1 env -u SLURM_MEM_PER_NODE -u SLURM_CPUS_PER_TASK "$program" check short.yaml --json |
        python3 -c 'import json, sys; plan = json.loads(next(sys.stdin)); print(plan["threads"], 100 << 20 < plan["budget_bytes"] <= 120 << 20)')
    [ "$found" = "1 True" ] || fail "a step with one core and 200 MiB has this many threads, and a fitting budget: $found"
    echo "control groups: one core and 60 % of 200 MiB are found"
else
    echo "SKIPPED control groups: those of version 1 cannot be made here"
fi

case $(ldd "$program" "$(dirname "$program")"/libtomostage-programs.so.* 2>/dev/null) in
*libmpich.so*) export SLURM_MPI_TYPE=pmi2 ;;
*libmpi.so*) export SLURM_MPI_TYPE=pmix OMPI_MCA_btl_tcp_if_include=lo ;; # Open MPI leaves it out by default
*)
    echo "SKIPPED ranks: the program was built without MPI"
    exit
    ;;
esac
nodes=(--nodes=3 --ntasks-per-node=1 --mem=300)
submit --time=9 "${nodes[@]}" "$sbatch" short.yaml ranks.h5
await_slab ranks.h5.checkpoint
scancel --signal=USR1 "$job" # to the step, as at the time limit
await
[ "$(field "$job" JobState)" = COMPLETED ] && [ "$(field "$job" Restarts)" = 1 ] ||
    fail "ranks ended as $(field "$job" JobState) after $(field "$job" Restarts) restarts"
[ "$(grep -c ' kept in ' "tomostage-$job.log")" = 1 ] || fail "not one rank speaks for all"
same short ranks.h5
gone ranks.h5
echo "ranks on 3 nodes: the same bytes after a stop"

# Prints the process of a rank. The children of the sandboxes have its environment too.
process_of() {
    for pid in $(pgrep -x "$(basename "$program" | cut -c-15)"); do
        [ "$(tr '\0' '\n' <"/proc/$pid/environ" | grep -cxE "SLURM_(PROCID=$1|CONF=$SLURM_CONF)")" = 2 ] &&
            [ "$(cat "/proc/$(ps -o ppid= -p "$pid" | tr -d ' ')/comm")" = slurmstepd ] && echo "$pid"
    done 2>/dev/null
}

for victim in 0 2; do
    rm -rf killed.h5.checkpoint
    submit --time=9 "${nodes[@]}" "$sbatch" short.yaml killed.h5
    await_slab killed.h5.checkpoint
    since=$SECONDS
    kill -KILL "$(process_of $victim)"
    await
    [ "$(field "$job" JobState)" = FAILED ] && [ $((SECONDS - since)) -lt 30 ] ||
        fail "the job ended as $(field "$job" JobState) after $((SECONDS - since)) s"
    [ -z "$(process_of 0)$(process_of 1)$(process_of 2)" ] || fail "ranks run on"
    [ ! -e killed.h5 ] || fail "a rank that was killed leaves an output"
done
submit --time=9 --nodes=2 --ntasks-per-node=1 "$sbatch" short.yaml killed.h5
await
same short killed.h5
gone killed.h5
echo "killed ranks: all end, and two others go on from their slabs"

expect_wrong "${nodes[@]}"
echo "wrong chain of ranks: their exit code"

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Real Slurm on this machine, with two nodes that are two slurmd of it, runs datasets/workflows/slurm.sbatch as it is: the
# job meets its time limit, stops at a checkpoint, goes back into the queue, and ends with the bytes of a run without a
# stop. A job that is canceled goes on when it is submitted again, and one whose chain is wrong ends at once.
#
# usage: test_slurm.sh PROGRAM SOURCE. Exits with 77 where TOMOSTAGE_SLURM is not 1, or Slurm, munge or root is not there.
set -u
# The shortest limit of Slurm is a minute, so the job must take longer than half of one and not much longer than two: that
# depends on the machine, and the test is not part of every run.
if [ "${TOMOSTAGE_SLURM:-}" != 1 ]; then
    echo "SKIPPED: it takes minutes, and how many depends on the machine; TOMOSTAGE_SLURM=1 runs it"
    exit 77
fi
program=$(readlink -f "$1") source=$(readlink -f "$2")
for needed in slurmctld slurmd munged sbatch; do
    if ! command -v $needed >/dev/null; then
        echo "SKIPPED: $needed is not installed (apt-get install slurmctld slurmd slurm-client munge)"
        exit 77
    fi
done
if [ "$(id -u)" != 0 ]; then
    echo "SKIPPED: only root can start slurmd"
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
}
trap stop_daemons EXIT

fail() {
    echo "FAILED: $*"
    tail -n 20 "$folder"/log/* "$folder"/job/*.log
    exit 1
}

start_daemons() {
    mkdir -p "$folder"/{state,log,munge,job,spool/n1,spool/n2}
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
TaskPlugin=task/none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmctldPort=$base
SlurmdSpoolDir=$folder/spool/%n
StateSaveLocation=$folder/state
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd-%n.pid
SlurmctldLogFile=$folder/log/slurmctld
SlurmdLogFile=$folder/log/%n
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=5
MailProg=/bin/true
NodeName=n1 NodeHostname=$host NodeAddr=127.0.0.1 Port=$((base + 1)) CPUs=1 RealMemory=1000
NodeName=n2 NodeHostname=$host NodeAddr=127.0.0.1 Port=$((base + 2)) CPUs=1 RealMemory=1000
PartitionName=main Nodes=ALL Default=YES State=UP
END
    export SLURM_CONF=$folder/slurm.conf
    slurmctld -c || fail "slurmctld does not start"
    slurmd -N n1 && slurmd -N n2 || fail "slurmd does not start"
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

# Waits until the job is over. Slurm lets a job that was requeued wait for two minutes, which the test need not.
await() {
    for _ in $(seq 600); do
        case $(field "$job" JobState) in
        PENDING) [ "$(field "$job" Reason)" = BeginTime ] && scontrol update "JobId=$job" StartTime=now ;;
        COMPLETED | FAILED | CANCELLED | TIMEOUT | NODE_FAIL) return ;;
        esac
        sleep 1
    done
    fail "job $job is $(field "$job" JobState) after 10 minutes"
}

same() { cmp "$folder/job/whole.h5" "$folder/job/$1" || fail "$1 has other bytes than a run without a stop"; }
gone() { [ ! -e "$folder/job/$1.checkpoint" ] || fail "the checkpoint of $1 is still there"; }

start_daemons
export TOMOSTAGE=$program TOMOSTAGE_RATES='' OMP_WAIT_POLICY=passive
sbatch=$source/datasets/workflows/slurm.sbatch
cd "$folder/job" || exit 1
"$program" phantom head -o study --size 192 --slices 40 --noise 20 --quiet
cat >chain.yaml <<END
tomostage: 2
input: {dicom: study}
stages: [{nlm: {patch_size: 5, patch_distance: 11, dimensions: 3d}}, statistics]
output: {hdf5: result.h5}
END
"$program" run chain.yaml -o whole.h5 --quiet || fail "the run without a stop"

# The shortest limit of Slurm is a minute, and it looks every half one whether a signal is due.
submit --time=1 --signal=USR1@45 "$sbatch" chain.yaml result.h5 --memory 85M
await
[ "$(field "$job" JobState)" = COMPLETED ] || fail "the job ended as $(field "$job" JobState)"
restarts=$(field "$job" Restarts)
[ "$restarts" -ge 1 ] || fail "the job met no time limit"
grep -q 'no checkpoint is in' "tomostage-$job.log" && grep -q ' kept in ' "tomostage-$job.log" ||
    fail "the log does not say that the run stopped and went on"
same result.h5
gone result.h5
echo "time limit: the same bytes after $restarts restarts"

submit --time=9 "$sbatch" chain.yaml canceled.h5 --memory 85M
for _ in $(seq 300); do
    [ "$(ls canceled.h5.checkpoint 2>/dev/null | wc -l)" -gt 2 ] && break
    sleep 0.2
done
scancel "$job"
await
[ ! -e canceled.h5 ] && [ -e canceled.h5.checkpoint/run.txt ] || fail "the job was not canceled in its midst"
submit --time=9 --nodelist=n2 "$sbatch" chain.yaml canceled.h5 --memory 85M
await
same canceled.h5
gone canceled.h5
echo "canceled: the same bytes on the other node"

sed 's/patch_size: 5/patch_size: 4/' chain.yaml >wrong.yaml
submit --time=9 "$sbatch" wrong.yaml wrong.h5
await
[ "$(field "$job" ExitCode)" = 2:0 ] && [ "$(field "$job" Restarts)" = 0 ] ||
    fail "a wrong chain ends with $(field "$job" ExitCode)"
echo "wrong chain: not repeated"

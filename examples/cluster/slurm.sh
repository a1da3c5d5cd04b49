#!/usr/bin/env bash
# Judge a dataset from a Ray cluster of four nodes; sbatch examples/cluster/slurm.sh. Has not been run on a cluster.
# Set DATASET, RUN, MODEL and SERVERS (one address in front of the vLLM servers) before. RUN lies on a shared disk.
#SBATCH --job-name=visualjudge
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=16
#SBATCH --time=24:00:00
#SBATCH --requeue
set -euo pipefail
: "${DATASET:?}" "${RUN:?}" "${MODEL:?}" "${SERVERS:?}"

head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
srun --nodes=1 --ntasks=1 --nodelist="$head" ray start --head --port=6379 --block &
sleep 20
workers=$((SLURM_NNODES - 1))
srun --nodes=$workers --ntasks=$workers --exclude="$head" ray start --address="$head:6379" --block &
sleep 20
# --resume: a job that was killed or put back into the queue asks only what is missing.
RAY_ADDRESS=$head:6379 visualjudge judge "$DATASET" --backend vllm --model "$MODEL" --base-url "http://$SERVERS/v1" \
  --engine ray --processes 48 --concurrency 1024 --resume --out "$RUN"
visualjudge report "$RUN" --out "$RUN/report.html"

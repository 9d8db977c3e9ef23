# The script of shardbox-cluster(7) for Open MPI, by itself and in a job of SLURM.

load cluster

@test "ranks of mpirun: one is killed, and the same script again packs what is missing" {
    kill_where OMPI_COMM_WORLD_RANK=2
    run_killed run_script pack-mpi.sh
    compgen -G 'lustre/photos-00002-of-00004.barecat.*new-shard-00000' >/dev/null
    kill_where none
    run_ok run_script pack-mpi.sh
    whole
}

@test "mpirun in a job of SLURM: the rank is that of Open MPI" {
    run_ok submit pack-mpi.sh --ntasks=4
    whole
}

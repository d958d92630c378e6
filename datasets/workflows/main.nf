// SPDX-License-Identifier: Apache-2.0
//
// Runs one chain over many studies with Nextflow (24.04 or later): every folder in `studies` becomes `results`/NAME.h5.
//
//   nextflow run main.nf --chain chain.yaml --studies studies --results results
//
// The process STUDY may be included by other workflows: include { STUDY } from './main.nf'. nextflow.config beside this
// file has the defaults of all parameters, what a run takes, and what its exit codes mean for another try.
nextflow.enable.dsl = 2

process STUDY {
    tag "${study.name}"
    publishDir params.results, mode: 'move', overwrite: true

    input:
    path study
    path chain

    output:
    path "${study.name}.h5"

    // A try has a folder of its own, so that what a run was stopped at must lie elsewhere for the next one to go on.
    script:
    def checkpoint = params.checkpoints ? "--resume --checkpoint '${params.checkpoints}/${study.name}.checkpoint'" : ''
    def limit = params.checkpoints && params.time_limit ? "--time-limit ${params.time_limit}" : ''
    def memory = task.memory.toMega().intdiv(4) * 3 // decoders and libraries take the rest
    """
    ${params.tomostage} run '${chain.name}' -i '${study.name}' -o '${study.name}.h5' --force --quiet --device ${params.device} \\
        --threads ${task.cpus} --memory ${memory}MiB ${checkpoint} ${limit} ${params.options}
    """
}

workflow {
    STUDY(channel.fromPath("${params.studies}/*", type: 'dir'), file(params.chain, checkIfExists: true))
}

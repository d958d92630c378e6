// SPDX-License-Identifier: Apache-2.0
//
// Runs one chain over many studies with Nextflow (24.04 or later): every folder in `studies` becomes `results`/NAME.h5.
//
//   nextflow run main.nf --chain chain.yaml --studies studies --results results
//
// nextflow.config beside this file has the defaults of all parameters, what a run takes, and what its exit codes mean for
// another try. Other workflows may include STUDIES, which takes a channel of folders and a chain, with includeConfig of it.
process STUDY {
    tag "${study.name}"
    // With mode 'move', -resume would find no results in its work folder, and would make all again.
    publishDir params.results, mode: params.publish, overwrite: true

    input:
    tuple path(study), val(files)
    path chain

    output:
    path "${study.name}.h5", glob: false

    // A try has a folder of its own, so that what a run was stopped at must lie elsewhere for the next one to go on.
    script:
    def checkpoint = params.checkpoints ? "--resume --checkpoint '${params.checkpoints}'/${study}.checkpoint" : ''
    def limit = params.checkpoints && params.time_limit ? "--time-limit ${params.time_limit}" : ''
    def memory = task.memory.toMega().intdiv(4) * 3 // decoders and libraries take the rest
    """
    ${params.tomostage} run ${chain} -i ${study} -o ${study}.h5 --force --quiet --device ${params.device} \\
        --threads ${task.cpus} --memory ${memory}MiB ${checkpoint} ${limit} ${params.options}
    """
}

// All files of a folder. The engine looks at the time of each, where it knows a folder by the folder's own time alone, which
// does not change when one of its files is written again.
def contents(path) {
    path.isDirectory() ? path.listFiles().sort().collectMany { entry -> contents(entry) } : [path]
}

workflow STUDIES {
    take:
    folders
    chain

    main:
    STUDY(folders.map { study -> tuple(study, contents(study)) }, chain)

    emit:
    STUDY.out
}

workflow {
    STUDIES(channel.fromPath("${params.studies}/*", type: 'dir'), file(params.chain, checkIfExists: true))
}

/** The maximum number of processes and threads of a runtime. */
export const pidsMax = 1024

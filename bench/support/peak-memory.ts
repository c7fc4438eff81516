import { type ProgramOptions, runProgram } from './run-program.ts'

/**
 * Runs its arguments as a program, and prints the largest resident set of that child in KiB
 * (getrusage(2), `RUSAGE_CHILDREN`). Node reports this of itself only.
 */
const program = `import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)`

/** Returns the largest resident set of a program in `MiB`, over several runs. Needs Python. */
export async function peakMemoryMiB(argv: readonly string[], runs: number, options: ProgramOptions): Promise<number> {
  let most = 0
  for (let run = 0; run < runs; run += 1) {
    const kib = Number(await runProgram(['python3', '-c', program, ...argv], options))
    if (!(kib > 0)) throw new Error(`${argv.join(' ')}: no peak memory was told`)
    most = Math.max(most, kib / 1024)
  }
  return most
}

/** The number of concurrent clients, and of the spawns of each. */
export interface Spawns {
  readonly clients: number
  readonly each: number
}

/** The shell that spawns. Its first spawn loads the program and is not timed. */
const shell = `
spawns() { /bin/true; for ((i = 0; i < $2; i++)); do from=$EPOCHREALTIME; /bin/true; echo "$from $EPOCHREALTIME"; done; }
for ((client = 0; client < $1; client++)); do spawns "$1" "$2" & done
wait`

/** Returns the command that spawns `true` and prints the clock before and after each. */
export function spawnCommand({ clients, each }: Spawns): readonly string[] {
  return ['/bin/bash', '-c', shell, 'spawns', String(clients), String(each)]
}

/**
 * Returns the milliseconds of each spawn. Throws if their number differs from the requested one.
 */
export function parseSpawns(output: string, { clients, each }: Spawns): readonly number[] {
  const lines = output.split('\n').filter((line) => line !== '')
  const times = lines.map((line) => {
    const [from, to] = line.split(' ').map(Number)
    return ((to ?? Number.NaN) - (from ?? Number.NaN)) * 1000
  })
  if (times.length !== clients * each || !times.every((ms) => ms >= 0))
    throw new Error(`not ${clients * each} pairs of times: ${output.slice(0, 200)}`)
  return times
}

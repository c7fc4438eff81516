/** The end of a command. */
export interface Exit {
  readonly exit_code: number | null
  readonly signal: string | null
  /** True if one of its processes was killed because the runtime was out of memory. */
  readonly oom_killed?: boolean | undefined
}

const memoryHint = 'It may have needed more memory than steps of a build have.'

/** The hints by the exit code of a shell (POSIX, 2.8.2). */
const hintsOfExit: Readonly<Record<number, string>> = {
  126: 'The program exists but cannot be executed. Run chmod +x in an earlier step, or check that it is built for this machine.',
  127: 'The program is not in the image. Install it in an earlier step, for example with apt-get install, or correct its name.',
  137: memoryHint,
}

/**
 * Returns the hint for a command of a step that did not exit with 0. `user` is the user as in USER,
 * and `tail` the end of the output.
 */
export function hintOfExit(exit: Exit, { user, tail }: { readonly user: string; readonly tail: string }): string {
  if (exit.signal === 'SIGKILL') return memoryHint
  const known = hintsOfExit[exit.exit_code ?? -1]
  if (known !== undefined) return known
  const isRoot = /^(?:root|0)?(?::|$)/.test(user)
  if (!isRoot && /permission denied/i.test(tail))
    return `The step ran as ${user}. If it needs root, put USER root before it.`
  return 'Read the end of its output, correct the step, and build again. The steps before it are in the cache.'
}

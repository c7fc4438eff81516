import type { FakeSession } from './fake-sessions.ts'

/** Takes input. It has no state of its own, so that a copy of the process can continue with it. */
export type ReadStdin = (data: Buffer, eof: boolean, console: Pick<Console, 'write' | 'exit'>) => void

/** The functions that a fake program may use. */
export interface Console {
  readonly argv: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly session: FakeSession | null
  write(stream: 'stdout' | 'stderr', data: string | Buffer): void
  exit(code: number): void
  onStdin(read: ReadStdin): void
}

/** The programs of a fake guest by name. */
export const programs: Readonly<Record<string, (console: Console) => void>> = {
  true: ({ exit }) => exit(0),
  false: ({ exit }) => exit(1),
  exit: ({ argv, exit }) => exit(Number(argv[1])),
  echo: ({ argv, write, exit }) => {
    write('stdout', `${argv.slice(1).join(' ')}\n`)
    exit(0)
  },
  complain: ({ argv, write, exit }) => {
    write('stderr', `${argv.slice(1).join(' ')}\n`)
    exit(1)
  },
  bytes: ({ argv, write, exit }) => {
    write('stdout', Buffer.from(argv[1] ?? '', 'hex'))
    exit(0)
  },
  fill: ({ argv, write, exit }) => {
    for (let left = Number(argv[1]); left > 0; left -= 32_768) write('stdout', 'x'.repeat(Math.min(left, 32_768)))
    exit(0)
  },
  cd: ({ argv, session, exit }) => {
    if (session !== null) session.info.cwd = argv[1] ?? '/'
    exit(0)
  },
  printenv: ({ argv, env, write, exit }) => {
    write('stdout', `${env[argv[1] ?? ''] ?? ''}\n`)
    exit(0)
  },
  cat: ({ onStdin }) =>
    onStdin((data, eof, { write, exit }) => {
      if (data.length > 0) write('stdout', data)
      if (eof) exit(0)
    }),
  sleep: () => {},
}

import { BuildError } from '../errors.ts'

/**
 * Expands a word of EXPOSE (`8080`, `8000-8010/udp`) into ports such as `8080/tcp`, one after
 * another. If the word had a variable, it may contain several words with blanks.
 */
export function* expandPorts(word: string): Generator<string> {
  for (const text of word.split(/\s+/)) if (text !== '') yield* portsOf(text)
}

function* portsOf(text: string): Generator<string> {
  const match = /^(\d{1,5})(?:-(\d{1,5}))?(?:\/(tcp|udp|sctp))?$/i.exec(text)
  const first = Number(match?.[1])
  const last = Number(match?.[2] ?? first)
  if (match === null || first < 1 || last > 65_535 || last < first || last - first > 1000)
    throw new BuildError('dockerfile_invalid', `EXPOSE ${JSON.stringify(text.slice(0, 80))} is not a port.`, {
      hint: 'Write a port such as 8080, 8080/udp or 8000-8010.',
    })
  const protocol = match[3]?.toLowerCase() ?? 'tcp'
  for (let port = first; port <= last; port += 1) yield `${port}/${protocol}`
}

import { BuildError } from './contract.ts'

/** Reads a word of EXPOSE, `8080`, `8000-8010/udp`, as `8080/tcp`. Several stand between blanks where a variable had them. */
export function expandPorts(word: string): readonly string[] {
  return word.split(/\s+/).flatMap((text) => (text === '' ? [] : portsOf(text)))
}

function portsOf(text: string): readonly string[] {
  const match = /^(\d{1,5})(?:-(\d{1,5}))?(?:\/(tcp|udp|sctp))?$/i.exec(text)
  const first = Number(match?.[1])
  const last = Number(match?.[2] ?? first)
  if (match === null || first < 1 || last > 65_535 || last < first || last - first > 1000)
    throw new BuildError('dockerfile_invalid', `EXPOSE ${JSON.stringify(text.slice(0, 80))} is not a port.`, {
      hint: 'Write a port such as 8080, 8080/udp or 8000-8010.',
    })
  const protocol = match[3]?.toLowerCase() ?? 'tcp'
  return Array.from({ length: last - first + 1 }, (_, index) => `${first + index}/${protocol}`)
}

import type { Arrivals } from './records.ts'

/** Where a text has arrived: `HOST header NAME`, `HOST path`, `HOST body`; plain HTTP as `http://HOST`. Also where it stands in Basic credentials. */
export function placesOf(text: string, { requests }: Arrivals): string[] {
  const places = requests.flatMap(({ sni, path, rawHeaders, body }) => {
    const fields: [string, string][] = []
    for (let at = 0; at + 1 < rawHeaders.length; at += 2)
      fields.push([(rawHeaders[at] ?? '').toLowerCase(), rawHeaders[at + 1] ?? ''])
    const host = sni ?? `http://${fields.find(([name]) => name === 'host')?.[1]}`
    return [
      // HTTP/2 has the path among its fields as well.
      ...fields
        .filter(([name, field]) => !name.startsWith(':') && reads(field).includes(text))
        .map(([name]) => `${host} header ${name}`),
      ...(path.includes(text) ? [`${host} path`] : []),
      ...(body.includes(text) ? [`${host} body`] : []),
    ]
  })
  return [...new Set(places)].sort()
}

function reads(field: string): string {
  const credentials = /^Basic (.+)$/.exec(field)?.[1]
  return credentials === undefined ? field : Buffer.from(credentials, 'base64').toString()
}

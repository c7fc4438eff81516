/** Returns the address of a database with another role. Options of the address stay. */
export function workerUrl(
  databaseUrl: string,
  { role, password }: { readonly role: string; readonly password: string },
): string {
  const url = new URL(databaseUrl)
  url.username = encodeURIComponent(role)
  url.password = encodeURIComponent(password)
  for (const name of ['user', 'password']) url.searchParams.delete(name)
  return url.href
}

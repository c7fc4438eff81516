/** An answer's error, but for what is another with each request. */
export function withoutRequest({
  json,
}: {
  readonly json: { readonly error: { readonly request_id: string } }
}): object {
  const { request_id: _, ...error } = json.error
  return error
}

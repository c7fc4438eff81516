/**
 * The elements that reach the net although a policy forbids loading: connections in advance,
 * lookups of names and refreshes, and documents within that could have them. A browser also
 * connects for the click on a link before it refuses to follow it. The names are matched as the
 * tokenizer of HTML does (HTML Standard, 13.2.5.8): by characters of the text itself.
 */
const reaching = /<(?=(?:a|area|link|meta|base|iframe|frame|object|embed|fencedframe|portal)[\t\n\f\r />])/gi

const policy = "default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'"

/**
 * Returns the document of a frame for HTML of a runtime. The policy in it holds in addition to the
 * inherited one, and also where a browser shows the document outside of its frame.
 */
export function frameText(html: string): string {
  return [
    '<!doctype html>',
    `<meta http-equiv="content-security-policy" content="${policy}">`,
    '<meta http-equiv="x-dns-prefetch-control" content="off">',
    '<meta name="referrer" content="no-referrer">',
    html.replace(reaching, '<x-'),
  ].join('\n')
}

/**
 * Names that Windows reserves for devices in every directory, also with an extension
 * (learn.microsoft.com, "Naming Files, Paths, and Namespaces").
 */
const deviceName =
  /^(?:con|prn|aux|nul|com[0-9\u00b9\u00b2\u00b3]|lpt[0-9\u00b9\u00b2\u00b3]|conin\$|conout\$)\s*(?:\.|$)/i

/**
 * Returns true if a name given by a runtime names exactly one file in the directory where it is
 * created. Windows takes `\` for a separator, `:` for a drive or a stream of another file, and some
 * names for devices.
 */
export function isPlainName(name: string, platform: NodeJS.Platform = process.platform): boolean {
  if (name === '' || name === '.' || name === '..' || /[/\0]/.test(name)) return false
  return platform !== 'win32' || (!/[\\:]|[. ]$/.test(name) && !deviceName.test(name))
}

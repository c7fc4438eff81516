const architectures: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' }

/** The architecture of this host, as images call it. */
export const hostArchitecture: string = architectures[process.arch] ?? process.arch

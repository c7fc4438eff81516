const architectures: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' }

/** The architecture of this host, by its name in images. */
export const hostArchitecture: string = architectures[process.arch] ?? process.arch

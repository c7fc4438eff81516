/** The parts of an OCI configuration that a raw bundle changes. */
interface BundleConfig {
  readonly process: { readonly args: readonly string[] }
  readonly root: { readonly path: string }
  readonly mounts: readonly { readonly destination: string; readonly source: string }[]
  readonly annotations?: Readonly<Record<string, string>>
  readonly linux: {
    readonly cgroupsPath: string
    readonly namespaces: readonly { readonly type: string; readonly path?: string }[]
    readonly uidMappings?: readonly unknown[]
    readonly gidMappings?: readonly unknown[]
  }
}

/** The parts of a raw bundle that differ from Holt's. */
export interface RawBundle {
  readonly args: readonly string[]
  readonly rootfs: string
  /** The directory for the writes of a gVisor runtime. */
  readonly upper: string
  /** The empty directory that is mounted in place of the directory with Holt's socket. */
  readonly socketDir: string
  readonly cgroupsPath: string
}

const socketDirPath = '/run/holt'
const overlayAnnotation = 'dev.gvisor.spec.rootfs.overlay'

/**
 * Returns the configuration of a baseline, made from that of a runtime of Holt. It has the same
 * image, limits, mounts, capabilities and filters, but no guest, so the comparison stays fair when
 * Holt's bundles change. The mount of the socket is kept with an empty directory. Without a bind
 * mount gVisor starts no gofer. Then it cannot keep the overlay in a directory, and the sandbox
 * ends with "fdDispenser out of fds". A container's user namespace is removed, because the guest
 * makes it before the runner starts.
 */
export function rawBundleConfig<Config extends BundleConfig>(config: Config, raw: RawBundle): Config {
  const { annotations } = config
  const { uidMappings: _uids, gidMappings: _gids, ...linux } = config.linux
  return {
    ...config,
    process: { ...config.process, args: raw.args },
    root: { ...config.root, path: raw.rootfs },
    mounts: config.mounts
      .filter(({ destination }) => destination === socketDirPath || !destination.startsWith(socketDirPath))
      .map((mount) => (mount.destination === socketDirPath ? { ...mount, source: raw.socketDir } : mount)),
    ...(annotations && { annotations: { ...annotations, [overlayAnnotation]: `dir=${raw.upper}` } }),
    linux: {
      ...linux,
      namespaces: linux.namespaces.filter(({ type }) => type !== 'user'),
      cgroupsPath: raw.cgroupsPath,
    },
  }
}

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

/** What a raw bundle has of its own. */
export interface RawBundle {
  readonly args: readonly string[]
  readonly rootfs: string
  /** Directory that takes what a gVisor runtime writes. */
  readonly upper: string
  /** Empty directory that is mounted where a runtime of Holt has its socket. */
  readonly door: string
  readonly cgroupsPath: string
}

const doorPath = '/run/holt'
const overlayAnnotation = 'dev.gvisor.spec.rootfs.overlay'

/**
 * Makes the configuration of a baseline from that of a runtime of Holt: the same image, limits,
 * mounts, capabilities and filters, without the guest. The comparison stays fair when Holt's
 * bundles change. The mount of the socket stays, of an empty directory: without any bind mount
 * gVisor starts no gofer, and then it cannot keep the overlay in a directory (the sandbox ends with
 * "fdDispenser out of fds"). A container's user namespace goes, for the guest makes it before the
 * runner starts.
 */
export function rawBundleConfig<Config extends BundleConfig>(config: Config, raw: RawBundle): Config {
  const { annotations } = config
  const { uidMappings: _uids, gidMappings: _gids, ...linux } = config.linux
  return {
    ...config,
    process: { ...config.process, args: raw.args },
    root: { ...config.root, path: raw.rootfs },
    mounts: config.mounts
      .filter(({ destination }) => destination === doorPath || !destination.startsWith(doorPath))
      .map((mount) => (mount.destination === doorPath ? { ...mount, source: raw.door } : mount)),
    ...(annotations && { annotations: { ...annotations, [overlayAnnotation]: `dir=${raw.upper}` } }),
    linux: {
      ...linux,
      namespaces: linux.namespaces.filter(({ type }) => type !== 'user'),
      cgroupsPath: raw.cgroupsPath,
    },
  }
}

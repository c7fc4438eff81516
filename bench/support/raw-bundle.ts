/** The parts of an OCI configuration that a raw bundle changes. */
interface BundleConfig {
  readonly process: { readonly args: readonly string[] }
  readonly root: { readonly path: string }
  readonly mounts: readonly { readonly destination: string }[]
  readonly annotations?: Readonly<Record<string, string>>
  readonly linux: { readonly cgroupsPath: string }
}

/** What a raw bundle has of its own. */
export interface RawBundle {
  readonly args: readonly string[]
  readonly rootfs: string
  /** Directory that takes what a gVisor runtime writes. */
  readonly upper: string
  readonly cgroupsPath: string
}

const overlayAnnotation = 'dev.gvisor.spec.rootfs.overlay'

/**
 * Makes the configuration of a baseline from that of a runtime of Holt: the same image, limits, mounts, capabilities and filters, without the guest. So what
 * is compared stays the same when Holt's bundles change.
 */
export function rawBundleConfig<Config extends BundleConfig>(config: Config, raw: RawBundle): Config {
  const { annotations } = config
  return {
    ...config,
    process: { ...config.process, args: raw.args },
    root: { ...config.root, path: raw.rootfs },
    mounts: config.mounts.filter(({ destination }) => !destination.startsWith('/run/holt')),
    ...(annotations && { annotations: { ...annotations, [overlayAnnotation]: `dir=${raw.upper}` } }),
    linux: { ...config.linux, cgroupsPath: raw.cgroupsPath },
  }
}

/** The parts of an OCI configuration that a bare bundle leaves out or changes. */
interface FullConfig {
  readonly process: object
  readonly mounts: readonly unknown[]
  readonly annotations?: Readonly<Record<string, string>>
  readonly linux: object
}

const overlayAnnotation = 'dev.gvisor.spec.rootfs.overlay'

/**
 * Returns the minimal configuration of a sandbox: an image, a program and a control group. It has
 * no mounts, so gVisor starts no gofer, and its writes stay in memory.
 */
export function bareBundleConfig<Config extends FullConfig>(config: Config): Config {
  const { annotations, ...rest } = config
  return {
    ...rest,
    mounts: [],
    ...(annotations && { annotations: { ...annotations, [overlayAnnotation]: 'memory' } }),
  } as unknown as Config
}

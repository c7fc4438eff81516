/** The limits of an image. A larger image is refused with `image_too_large`. */
export interface ImageLimits {
  /** The maximum number of entries over all layers. Default 2,000,000. */
  readonly maxEntries: number
  /**
   * The maximum number of compressed bytes over all layers, as the manifest states them. Default 16
   * GiB.
   */
  readonly maxLayerBytes: number
  /** The maximum number of uncompressed bytes over all layers. Default 32 GiB. */
  readonly maxBytes: number
}

/** The default limits, far above the images in use. */
export const defaultLimits: ImageLimits = { maxEntries: 2_000_000, maxLayerBytes: 16 * 2 ** 30, maxBytes: 32 * 2 ** 30 }

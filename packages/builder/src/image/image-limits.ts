/** Limits of an image; what goes beyond is refused with `image_too_large`. */
export interface ImageLimits {
  /** Entries over all layers. Default 2,000,000. */
  readonly maxEntries: number
  /** Compressed bytes over all layers, as the manifest states them. Default 16 GiB. */
  readonly maxLayerBytes: number
  /** Uncompressed bytes over all layers. Default 32 GiB. */
  readonly maxBytes: number
}

/** Far more than images in use have. */
export const defaultLimits: ImageLimits = { maxEntries: 2_000_000, maxLayerBytes: 16 * 2 ** 30, maxBytes: 32 * 2 ** 30 }

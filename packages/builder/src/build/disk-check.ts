import { BuildError } from './contract.ts'

const MIB = 2 ** 20

/** What file systems, and two builds of the same, differ by. */
const MARGIN_MIB = 4

/**
 * The room above a template's disk that steps have while they run, so that a step which needs more
 * can be told how much.
 */
const SLACK_MIB = { min: 512, max: 4096 } as const

/** What steps that install something are thought to need where nothing is known. */
const INSTALL_MIB = 256

/** The disk of a runtime in which steps run. */
export function stepDiskMiB(diskMiB: number): number {
  return diskMiB + Math.min(SLACK_MIB.max, Math.max(SLACK_MIB.min, diskMiB))
}

/**
 * Refuses an image that does not fit, as soon as its size is known. `more` is what comes on top:
 * whether steps run, and the bytes that they copy.
 */
export function checkBase(
  { diskMiB, baseBytes }: { readonly diskMiB: number; readonly baseBytes: number },
  more: { readonly runs: boolean; readonly copiedBytes: number },
): void {
  if (baseBytes <= diskMiB * MIB) return
  const installed = (more.runs ? INSTALL_MIB : 0) + Math.ceil(more.copiedBytes / MIB)
  throw tooSmall(diskMiB, mibOf(baseBytes) + MARGIN_MIB + installed, `the image alone has ${mibOf(baseBytes)} MiB`)
}

/** Refuses what was installed, once image and installed together do not fit. */
export function checkInstalled(
  {
    diskMiB,
    baseBytes,
    usedBytes,
  }: { readonly diskMiB: number; readonly baseBytes: number; readonly usedBytes: number },
  step: number | null,
): void {
  const bytes = baseBytes + usedBytes
  if (bytes <= diskMiB * MIB) return
  const why = `the image has ${mibOf(baseBytes)} MiB, and ${mibOf(usedBytes)} MiB were installed`
  throw tooSmall(diskMiB, Math.ceil(mibOf(bytes) * 1.02) + MARGIN_MIB, why, step)
}

/** Refuses the finished image. */
export function checkFinished({ diskMiB, sizeBytes }: { readonly diskMiB: number; readonly sizeBytes: number }): void {
  if (sizeBytes <= diskMiB * MIB) return
  throw tooSmall(diskMiB, mibOf(sizeBytes) + MARGIN_MIB, `the finished image has ${mibOf(sizeBytes)} MiB`)
}

/**
 * A step that has filled even the larger disk of the build: how much it wants is not known, so that
 * what is asked for grows by the double.
 */
export function filledDisk(
  { diskMiB, baseBytes }: { readonly diskMiB: number; readonly baseBytes: number },
  step: number | null,
): BuildError {
  const required = mibOf(baseBytes) + 2 * stepDiskMiB(diskMiB)
  return tooSmall(diskMiB, required, 'a step has filled the disk', step)
}

/** Whether a failed step says that its disk is full. */
export function saysDiskFull(output: string): boolean {
  return /no space left on device|ENOSPC|disk quota exceeded/i.test(output)
}

function tooSmall(diskMiB: number, requiredMiB: number, why: string, step: number | null = null): BuildError {
  return new BuildError('disk_too_small', `A disk of ${diskMiB} MiB is too small: ${why}.`, {
    hint: `Raise disk to ${requiredMiB} MiB or more.`,
    details: { required_mib: requiredMiB, disk_mib: diskMiB },
    ...(step === null ? {} : { step }),
  })
}

function mibOf(bytes: number): number {
  return Math.ceil(bytes / MIB)
}

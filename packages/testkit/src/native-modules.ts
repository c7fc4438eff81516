/**
 * The options of vitest that load modules as Node does. Node runs the sources of this repository as
 * they are. Vite's loader costs some tenths of a second of processor time in each process of tests.
 * Without it, a test cannot replace modules (`vi.mock`).
 */
export const nativeModules = { viteModuleRunner: false, nodeLoader: false } as const

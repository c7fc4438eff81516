import { codeTools } from './code-tools.ts'
import { commandTools } from './command-tools.ts'
import { fileTools } from './file-tools.ts'
import { gitTools } from './git-tools.ts'
import { networkTools } from './network-tools.ts'
import { portTools } from './port-tools.ts'
import { runtimeTools } from './runtime-tools.ts'
import { templateTools } from './template-tools.ts'
import type { Tool } from './tool.ts'

/** Every tool, in the order in which they are listed. */
export const allTools: readonly Tool[] = [
  ...runtimeTools,
  ...commandTools,
  ...codeTools,
  ...fileTools,
  ...gitTools,
  ...portTools,
  ...templateTools,
  ...networkTools,
]

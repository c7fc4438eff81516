import { AxeBuilder } from '@axe-core/playwright'
import type { Page } from 'playwright-core'

/**
 * Returns what axe has against a page. The themes differ in colours only, so the dark one is
 * checked for those.
 */
export async function faultsOf(page: Page, theme: 'light' | 'dark'): Promise<readonly string[]> {
  // Axe leaves out the rule of WCAG 2.2 about the size of targets, unless it is asked for.
  const axe = new AxeBuilder({ page }).options({ rules: { 'target-size': { enabled: true } } })
  const { violations } = await (theme === 'dark' ? axe.withRules(['color-contrast']) : axe).analyze()
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`)
}

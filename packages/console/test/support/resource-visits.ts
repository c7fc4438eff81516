import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import type { TestServer } from '../../../server/test/support/start-test-server.ts'
import { openByLink, openWindow, type Visit } from './browser.ts'
import { faultsOf } from './faults-of.ts'

/** Opens a page of the console by its link in the navigation. */
export async function visitPage(
  server: TestServer,
  link: string,
  { key, width = 1280 }: { readonly key?: string; readonly width?: number } = {},
): Promise<Visit> {
  const visit = await openWindow({ viewport: { width, height: 900 } })
  await openByLink(server, visit, key)
  await showPage(visit.page, link)
  return visit
}

/** Shows another page of the console, by its link in the navigation. */
export async function showPage(page: Page, link: string): Promise<void> {
  await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: link, exact: true }).click()
}

/** Expects that axe has nothing against a page in either theme. */
export async function expectNoFaults(page: Page): Promise<void> {
  expect(await faultsOf(page, 'light')).toEqual([])
  await page.emulateMedia({ colorScheme: 'dark' })
  expect(await faultsOf(page, 'dark')).toEqual([])
  await page.emulateMedia({ colorScheme: 'light' })
}

/** Expects that a page of the width of a phone is no wider. Tables in it scroll by themselves. */
export async function expectPhoneWidth(page: Page): Promise<void> {
  await page.setViewportSize({ width: 360, height: 740 })
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360)
  await page.setViewportSize({ width: 1280, height: 900 })
}

/** Expects that hostile texts were shown as texts, and that the browser had nothing to complain. */
export async function expectHarmless({ page, complaints }: Visit): Promise<void> {
  expect(await page.title()).toContain('Holt')
  expect(await page.locator('#console img, #console script').count()).toBe(0)
  expect(complaints).toEqual([])
}

/**
 * Removes what this tab of the browser has kept for a key: cells with their code, and open
 * terminals. Their places in the storage are named `holt.KIND.KEY.RUNTIME`.
 */
export function forgetKey(keyId: string): void {
  for (const place of Object.keys(sessionStorage))
    if (/^holt\.\w+\./.test(place) && place.includes(`.${keyId}.`)) sessionStorage.removeItem(place)
}

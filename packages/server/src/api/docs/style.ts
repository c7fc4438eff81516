/**
 * The page's stylesheet. It has one column on a phone, and the contents beside it on a wide screen.
 * The colours follow the reader's system.
 */
export const style = `
:root { color-scheme: light dark; --line: light-dark(#d8dce0, #3a3f45); --soft: light-dark(#f3f5f7, #202327); --faint: light-dark(#56606a, #a2abb4); --link: light-dark(#0b57b0, #7db7ff); --alert: light-dark(#9a3412, #ffb086); }
* { box-sizing: border-box; }
body { margin: 0; background: light-dark(#fff, #15171a); color: light-dark(#1c2024, #e4e7ea); font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
a { color: var(--link); text-decoration: none; }
a:hover, a:focus-visible { text-decoration: underline; }
header, nav, main { padding: 1rem; }
header { border-bottom: 1px solid var(--line); }
h1, h2, h3, h4, p, dl, dd, ul { margin: 0; }
h1 { font-size: 1.5rem; }
h2 { font-size: 1.35rem; padding: 2rem 0 .5rem; }
h3 { font-size: 1.1rem; }
h3 a { color: inherit; }
h4 { font-size: .95rem; padding: .75rem 0 .25rem; }
p + p { margin-top: .4rem; }
.errors { padding: 0; list-style: none; }
.choices { padding-left: 1.2rem; }
nav ul { padding: 0 0 .5rem 1rem; list-style: none; font-size: .9rem; }
nav li { padding: .15rem 0; }
nav summary { cursor: pointer; padding: .25rem 0; font-weight: 600; }
article { padding: 1rem 0; border-top: 1px solid var(--line); }
code, pre { font: .875em/1.5 ui-monospace, monospace; }
pre { margin: 0; padding: .75rem; overflow-x: auto; background: var(--soft); border-radius: .4rem; overflow-wrap: normal; }
pre code { font-size: .85rem; }
dt { padding-top: .35rem; }
dd { padding-left: 1rem; }
dl dl { border-left: 2px solid var(--line); padding-left: .75rem; }
dl.fields dt > code { font-weight: 600; }
.type, .scope { color: var(--faint); font-size: .9rem; }
.method { display: inline-block; min-width: 3.6rem; font: 600 .85rem ui-monospace, monospace; }
.required { color: var(--alert); font-size: .8rem; font-weight: 600; }
:target { scroll-margin-top: .5rem; background: var(--soft); }
@media (min-width: 60rem) {
  body { display: grid; grid-template: auto 1fr / 20rem minmax(0, 60rem); }
  header { grid-column: 1 / -1; }
  nav { position: sticky; top: 0; max-height: 100vh; overflow-y: auto; align-self: start; }
}
@media print { nav { display: none; } }
`

/** A text that would change the title of the page if anything took it for HTML. */
export const hostile = '<img src=x onerror="document.title=1"><script>document.title=2</script>'

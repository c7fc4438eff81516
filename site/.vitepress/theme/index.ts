// The theme without its fonts: a reader's own fonts need no download and no licence.
import theme from 'vitepress/theme-without-fonts'
import './style.css'

export default theme

// @ts-check
// The figures of turns as a picture: four panels of bars, on a logarithmic scale.
import { HISTORIES } from './cases.mjs'
import { short } from './report.mjs'

/** @import { Figure } from './cases.mjs' */

/** @type {Array<{ title: string, group: string, name: string, unit: string }>} */
const PANELS = [
  { title: 'Main-thread CPU of a turn', group: 'send', name: 'mainMs', unit: 'ms' },
  { title: 'CPU of a turn, all threads', group: 'send', name: 'processMs', unit: 'ms' },
  { title: 'Turns a second, 16 sessions (more is better)', group: 'send', name: 'turnsPerS', unit: '/s' },
  { title: 'Latency around an adapter in JavaScript', group: 'overhead', name: 'latencyUs', unit: 'µs' },
]
const [WIDTH, HEIGHT] = [880, 580]
const PANEL = { width: 420, height: 240, left: 60, bars: 270 }

/** @param {(figure: Figure) => number | undefined} figureOf */
export function chart(figureOf) {
  const panels = PANELS.map((panel, index) => drawPanel(panel, 14 + (index % 2) * 440, 60 + Math.floor(index / 2) * 262, figureOf))
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="ui-sans-serif, system-ui, sans-serif" font-size="13" role="img" aria-labelledby="title desc">
  <title id="title">What a turn costs, against plain JavaScript</title>
  <desc id="desc">Four panels of bars for histories of 10, 100, 1 000 and 10 000 messages: main-thread CPU, CPU of all threads, turns a second, and latency around an adapter in JavaScript; each for the yardstick and for the package.</desc>
  <style>
    .paper { fill: #fff }
    .panel { fill: none; stroke: #d0d7de }
    .yardstick { fill: #8c959f }
    .package { fill: #0969da }
    text { fill: #1f2328 }
    .head { font-weight: 600 }
    .note { font-size: 12px; fill: #57606a }
    @media (prefers-color-scheme: dark) {
      .paper { fill: #0d1117 }
      .panel { stroke: #30363d }
      .yardstick { fill: #6e7681 }
      .package { fill: #58a6ff }
      text { fill: #e6edf3 }
      .note { fill: #9198a1 }
    }
  </style>
  <rect class="paper" width="${WIDTH}" height="${HEIGHT}"/>
  <rect class="yardstick" x="14" y="20" width="14" height="14" rx="2"/>
  <text x="34" y="32">plain JavaScript over the provider's client</text>
  <rect class="package" x="320" y="20" width="14" height="14" rx="2"/>
  <text x="340" y="32">this package</text>
  <text class="note" x="866" y="32" text-anchor="end">by messages of history; logarithmic</text>
${panels.join('\n')}
</svg>
`
}

/**
 * @param {typeof PANELS[number]} panel
 * @param {number} x
 * @param {number} y
 * @param {(figure: Figure) => number | undefined} figureOf
 */
function drawPanel({ title, group, name, unit }, x, y, figureOf) {
  const bars = HISTORIES.flatMap((history, place) =>
    ['yardstick', 'native'].map((variant, second) => ({ history, place, second, value: figureOf([`${group} ${history}`, variant, name]) ?? NaN })),
  )
  const known = bars.map(({ value }) => value).filter((value) => value > 0)
  // The shortest bar still shows: the scale begins at the power of ten below it.
  const low = 10 ** Math.floor(Math.log10(Math.min(...known)) - 0.2)
  const span = Math.log10(Math.max(...known) / low)
  const drawn = bars.map(({ history, place, second, value }) => {
    const top = y + 44 + place * 49 + second * 19
    const width = value > 0 ? Math.round((Math.log10(value / low) / span) * PANEL.bars) : 0
    const label = second === 0 ? `\n  <text class="note" x="${x + PANEL.left - 8}" y="${top + 21}" text-anchor="end">${String(history).replace(/\B(?=(\d{3})+$)/g, ' ')}</text>` : ''
    return `  <rect class="${second === 0 ? 'yardstick' : 'package'}" x="${x + PANEL.left}" y="${top}" width="${width}" height="15" rx="2"/>
  <text class="note" x="${x + PANEL.left + width + 6}" y="${top + 12}">${short(value)} ${unit}</text>${label}`
  })
  return `  <rect class="panel" x="${x}" y="${y}" width="${PANEL.width}" height="${PANEL.height + 10}" rx="6"/>
  <text class="head" x="${x + 12}" y="${y + 24}">${title}</text>
${drawn.join('\n')}`
}

// What native code does where the facade, which checks all that comes from outside, would be wrong.
import { createRequire } from 'node:module'
import { expect, it } from 'vitest'

const { Bridge } = createRequire(import.meta.url)('../src/js/addon.cjs') as typeof import('../src/js/native.cjs')

it.each([[['abc'], 2], [['abc', 'd'], 3], [['abc'], 0], [['abc'], 4], [['ab', '日本'], 1]])('texts that are longer or shorter than was said are refused: %j as %i', (texts, units) => {
  expect(() => new Bridge(() => {}).answerContents(1, texts, units)).toThrow('the texts are longer or shorter than was said')
})

it('texts that are none are refused', () => {
  const bridge = new Bridge(() => {})
  const answer = (texts: unknown[], units: number) => () => {
    bridge.answerContents(1, texts as string[], units)
    return 'taken'
  }
  for (const wrong of [[1], [null], [{}], [['a']]]) expect(answer(wrong, 1)).toThrow(expect.objectContaining({ code: 'StringExpected' }))
  expect(answer(['日本', '', '\ud83c'], 3)()).toBe('taken')
})

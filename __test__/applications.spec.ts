import { describe, expect, it } from 'vitest'
import { checkSchoolDay, checkShopDay } from './support/applications.js'
import { storages } from './support/storages.js'

describe.each(storages)('an application on $name', ({ make }) => {
  it('of the first generation runs as it is: main session, consolidate(fn), integrate(fn)', async () => {
    for (const [found, wanted] of await checkSchoolDay(make())) expect(found).toEqual(wanted)
  })

  it('of the second generation runs as it is: bound functions, a tool loop, a reflection', async () => {
    for (const [found, wanted] of await checkShopDay(make())) expect(found).toEqual(wanted)
  })
})

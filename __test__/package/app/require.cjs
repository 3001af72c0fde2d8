// @ts-check
'use strict'

const session = require('@stello-ai/session')
const { converse } = require('./converse.cjs')

converse(session).then((said) => console.log(JSON.stringify(said)))

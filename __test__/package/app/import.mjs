// @ts-check
import * as session from '@stello-ai/session'
import { converse } from './converse.cjs'

converse(session).then((said) => console.log(JSON.stringify(said)))

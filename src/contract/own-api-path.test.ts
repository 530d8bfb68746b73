import { expect, test } from 'vitest'
import { isApiPath } from './own-api-path.ts'

test.each([
  ['/api/user/logout', true],
  ['/api', true],
  ['//api//user/logout', true],
  ['/%61pi/user/logout', true],
  ['/%2561pi/user/logout', true],
  ['/api%2Fuser/logout', true],
  ['/x/../api/user/logout', true],
  ['/x/%2e%2e/api/user/logout', true],
  ['/API/user/token', true],
  ['\\api\\user', true],
  ['/gate/api/user/logout', true],
  ['/gate/v1/models', true],
  ['/v1beta/models', true],
  ['/%', true],
  ['/logo.png', false],
  ['/apidocs', false],
  ['/about', false],
  ['/files/api/logo.png', false],
  ['/%E5%9B%BE.png', false],
])('%s leads to the API below / or /gate/: %s', (path, isApi) => {
  expect(isApiPath(path, '/gate/')).toBe(isApi)
})

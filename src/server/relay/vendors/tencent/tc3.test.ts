import { expect, test } from 'vitest'
import { tc3Authorization } from './tc3.ts'

const KEY = {
  secretId: 'AKIDz8krbsJ5yKBZQpn74WFkmLPx3*******',
  secretKey: 'Gu5t9xGARNpq86cd98joQYCN3*******',
}

test('signs the example of the documentation byte for byte', () => {
  const body = Buffer.from(
    String.raw`{"Limit": 1, "Filters": [{"Values": ["\u672a\u547d\u540d"], "Name": "instance-name"}]}`,
  )
  const signed = tc3Authorization(
    {
      service: 'cvm',
      host: 'cvm.tencentcloudapi.com',
      action: 'DescribeInstances',
      contentType: 'application/json; charset=utf-8',
      body,
    },
    KEY,
    1_551_113_065,
  )
  expect(signed).toBe(
    'TC3-HMAC-SHA256 Credential=AKIDz8krbsJ5yKBZQpn74WFkmLPx3*******/2019-02-25/cvm/tc3_request, ' +
      'SignedHeaders=content-type;host;x-tc-action, ' +
      'Signature=be4f67d323c78ab9acb7395e43c0dbcf822a9cfac32fea2449a7bc7726b770a3',
  )
})

test('signs a recorded call of another gateway', () => {
  const body = Buffer.from(
    '{"Model":"m-23-stream","Messages":[{"Role":"user","Content":"What is the answer?"}],' +
      '"Stream":true}',
  )
  const signed = tc3Authorization(
    {
      service: 'hunyuan',
      host: 'hunyuan.tencentcloudapi.com',
      action: 'ChatCompletions',
      contentType: 'application/json',
      body,
    },
    { secretId: 'id', secretKey: 'key' },
    1_795_262_030,
  )
  expect(signed).toBe(
    'TC3-HMAC-SHA256 Credential=id/2026-11-21/hunyuan/tc3_request, ' +
      'SignedHeaders=content-type;host;x-tc-action, ' +
      'Signature=6e1a3004e18a58a0c7276480b9fe16e5e2ffb4c636b38a7d1c2e9d3171773b15',
  )
})

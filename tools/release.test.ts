import { expect, test } from 'vitest'
import { shippedParts } from './release.ts'

const part = (name: string, version: string) => ({
  name,
  version,
  'bom-ref': `${name}@${version}`,
})

test('the list of parts contains exactly what is bundled or installed with the package', () => {
  const bom = {
    metadata: { component: { name: 'a-folder' } },
    components: [
      part('fastify', '5.0.0'),
      part('fastify', '4.0.0'),
      part('@node-rs/bcrypt', '1.0.0'),
      part('vitest', '5.0.0'),
    ],
    dependencies: [{ ref: 'fastify@5.0.0', dependsOn: ['vitest@5.0.0'] }, { ref: 'vitest@5.0.0' }],
  }
  const licences = 'Head.\n====\nfastify 5.0.0: MIT\n\nThe text of the licence.\n'
  const { metadata, components, dependencies } = shippedParts(
    bom,
    new Set(['@node-rs/bcrypt@1.0.0']),
    licences,
  )
  expect(metadata.component.name).toBe('gatehouse')
  expect(components.map((shipped) => shipped['bom-ref'])).toEqual([
    'fastify@5.0.0',
    '@node-rs/bcrypt@1.0.0',
  ])
  expect(dependencies).toEqual([{ ref: 'fastify@5.0.0', dependsOn: [] }])
})

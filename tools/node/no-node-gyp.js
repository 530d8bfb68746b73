// Replaces node-gyp (.npmrc): no dependency of this project needs compiling.
process.stdout.write('nothing to compile\n')

// Stands in for node-gyp (.npmrc): nothing that this project installs has to be compiled.
process.stdout.write('nothing to compile\n')

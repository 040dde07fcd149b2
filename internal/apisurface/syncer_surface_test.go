package apisurface

// The document of plugins has the same tests as the others.
var _ = func() bool {
	documents["syncer"] = struct{ names, methods int }{names: 67, methods: 2}
	return true
}()

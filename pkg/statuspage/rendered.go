package statuspage

import "sync"

// maxRendered is how many different pages of one fleet are kept. More are rendered anew at each request.
const maxRendered = 64

// A rendered has the pages that were rendered of a fleet, so that readers of the same page share them. Pages are
// rendered one after the other. The zero value has none. It is safe for concurrent use.
type rendered struct {
	mu    sync.Mutex
	pages map[string][]byte
	count int
}

// page returns the page with the address, which is rendered at the first request.
func (r *rendered) page(address string, render func() []byte) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	if page, ok := r.pages[address]; ok {
		return page
	}
	page := render()
	if r.count++; len(r.pages) < maxRendered && page != nil {
		if r.pages == nil {
			r.pages = map[string][]byte{}
		}
		r.pages[address] = page
	}

	return page
}

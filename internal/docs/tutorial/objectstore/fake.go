package objectstore

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"sync"
)

// maxQuotaGiB is the largest quota that the object store grants.
const maxQuotaGiB = 400

// A Fake is an object store in memory, for tests and to try the provider with.
type Fake struct {
	Token string

	mu      sync.Mutex
	buckets map[string]Bucket
	calls   int
}

// Calls returns the number of requests since the start.
func (f *Fake) Calls() int {
	f.mu.Lock()
	defer f.mu.Unlock()

	return f.calls
}

// Buckets returns all buckets, in no particular order.
func (f *Fake) Buckets() []Bucket {
	f.mu.Lock()
	defer f.mu.Unlock()

	return slices.Collect(maps.Values(f.buckets))
}

// ServeHTTP serves the API.
func (f *Fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()

	f.calls++
	if r.Header.Get("Authorization") != "Bearer "+f.Token {
		writeError(w, http.StatusUnauthorized, "the token is not valid")

		return
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /buckets/{name}", f.get)
	mux.HandleFunc("POST /buckets", f.put)
	mux.HandleFunc("PATCH /buckets/{name}", f.put)
	mux.HandleFunc("DELETE /buckets/{name}", f.delete)
	mux.ServeHTTP(w, r)
}

func (f *Fake) get(w http.ResponseWriter, r *http.Request) {
	b, ok := f.buckets[r.PathValue("name")]
	if !ok {
		writeError(w, http.StatusNotFound, "not found")

		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(b)
}

func (f *Fake) put(w http.ResponseWriter, r *http.Request) {
	b := f.buckets[r.PathValue("name")] // a PATCH keeps the fields that it does not set
	err := json.NewDecoder(r.Body).Decode(&b)
	_, exists := f.buckets[b.Name]
	switch {
	case err != nil || b.QuotaGiB > maxQuotaGiB:
		writeError(w, http.StatusUnprocessableEntity, "the quota is too large")
	case r.Method == http.MethodPost && exists:
		writeError(w, http.StatusConflict, "the name is in use")
	default:
		if f.buckets == nil {
			f.buckets = map[string]Bucket{}
		}
		f.buckets[b.Name] = b
	}
}

func (f *Fake) delete(_ http.ResponseWriter, r *http.Request) {
	delete(f.buckets, r.PathValue("name"))
}

// writeError responds with an error as the API does.
func writeError(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": text})
}

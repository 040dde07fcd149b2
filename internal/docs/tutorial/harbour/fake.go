package harbour

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"sync"
)

// A Fake is a harbour office in memory, for tests and to play with. Its quay has
// places for ships of up to 400 metres.
type Fake struct {
	Token string

	mu     sync.Mutex
	berths map[string]Berth
	calls  int
}

// Calls returns how many requests were answered.
func (f *Fake) Calls() int {
	f.mu.Lock()
	defer f.mu.Unlock()

	return f.calls
}

// Berths returns all that were given.
func (f *Fake) Berths() []Berth {
	f.mu.Lock()
	defer f.mu.Unlock()

	return slices.Collect(maps.Values(f.berths))
}

// ServeHTTP answers as the office does.
func (f *Fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()

	f.calls++
	if r.Header.Get("Authorization") != "Bearer "+f.Token {
		refuse(w, http.StatusUnauthorized, "who are you?")

		return
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /berths/{name}", f.get)
	mux.HandleFunc("POST /berths", f.put)
	mux.HandleFunc("PATCH /berths/{name}", f.put)
	mux.HandleFunc("DELETE /berths/{name}", f.delete)
	mux.ServeHTTP(w, r)
}

func (f *Fake) get(w http.ResponseWriter, r *http.Request) {
	b, ok := f.berths[r.PathValue("name")]
	if !ok {
		refuse(w, http.StatusNotFound, "there is none")

		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(b)
}

func (f *Fake) put(w http.ResponseWriter, r *http.Request) {
	b := f.berths[r.PathValue("name")] // what a PATCH does not name stays
	err := json.NewDecoder(r.Body).Decode(&b)
	_, exists := f.berths[b.Name]
	switch {
	case err != nil || b.Metres > 400:
		refuse(w, http.StatusUnprocessableEntity, "berths have up to 400 metres")
	case r.Method == http.MethodPost && exists:
		refuse(w, http.StatusConflict, "the name is taken")
	default:
		if f.berths == nil {
			f.berths = map[string]Berth{}
		}
		f.berths[b.Name] = b
	}
}

func (f *Fake) delete(_ http.ResponseWriter, r *http.Request) { delete(f.berths, r.PathValue("name")) }

// refuse answers with an error, as the office tells one.
func refuse(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": text})
}

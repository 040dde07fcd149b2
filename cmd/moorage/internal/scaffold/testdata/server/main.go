// Command standin is a server of the external system, for a test: the fake below /api/ in a process of its own. What is below /-/ is
// for tests, and needs no token.
package main

import (
	"encoding/json"
	"log"
	"net/http"
	"os"
	"time"

	"example.org/provider-cloud/internal/api"
)

func main() {
	f := &api.Fake{Token: os.Args[2]}
	mux := http.NewServeMux()
	mux.Handle("/api/", http.StripPrefix("/api", f))
	mux.HandleFunc("GET /-/{collection}", func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode(f.Things(r.PathValue("collection")))
	})
	mux.HandleFunc("POST /-/{collection}", func(w http.ResponseWriter, r *http.Request) {
		thing := api.Thing{}
		_ = json.NewDecoder(r.Body).Decode(&thing)
		_ = json.NewEncoder(w).Encode(f.Put(r.PathValue("collection"), thing))
	})
	mux.HandleFunc("DELETE /-/{collection}/{id}", func(w http.ResponseWriter, r *http.Request) {
		f.Remove(r.PathValue("collection"), r.PathValue("id"))
		_ = json.NewEncoder(w).Encode("")
	})

	server := http.Server{Addr: os.Args[1], Handler: mux, ReadHeaderTimeout: time.Second}
	log.Fatal(server.ListenAndServe())
}

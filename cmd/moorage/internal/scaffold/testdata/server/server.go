package testserver

import (
	"bytes"
	"encoding/json"
	"net/http"

	"github.com/moorage-dev/moorage/pkg/test/server"

	"example.org/provider-cloud/internal/api"
)

// Username is the user that the provider logs in as.
const Username = "admin"

// Program describes the server.
func Program(token string) server.Program {
	return server.Program{
		Name: "STANDIN",
		Args: func(at server.Place) []string { return []string{at.Address(), token} },
	}
}

// URL returns the URL of the server.
func URL(address string) string { return "http://" + address + "/api" }

// A Store reads and changes the server for tests.
type Store interface {
	Things(collection string) map[string]api.Thing
	Put(collection string, thing api.Thing) string
	Remove(collection, id string)
}

// Open returns the store of the server at an address.
func Open(address, _ string) (Store, error) { return store("http://" + address + "/-/"), nil }

type store string

func (s store) send(method, path string, body, out any) {
	text, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}

	request, err := http.NewRequest(method, string(s)+path, bytes.NewReader(text))
	if err != nil {
		panic(err)
	}

	response, err := http.DefaultClient.Do(request)
	if err != nil {
		panic(err)
	}

	if err := json.NewDecoder(response.Body).Decode(out); err != nil {
		panic(err)
	}
}

// Things returns all things of a collection.
func (s store) Things(collection string) map[string]api.Thing {
	out := map[string]api.Thing{}
	s.send(http.MethodGet, collection, nil, &out)

	return out
}

// Put creates or replaces a thing.
func (s store) Put(collection string, thing api.Thing) (id string) {
	s.send(http.MethodPost, collection, thing, &id)

	return id
}

// Remove removes a thing.
func (s store) Remove(collection, id string) {
	var nothing string

	s.send(http.MethodDelete, collection+"/"+id, nil, &nothing)
}

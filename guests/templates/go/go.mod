module mean

go 1.24

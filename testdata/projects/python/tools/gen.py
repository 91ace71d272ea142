with open("generated.txt", "w") as file:
    file.write("generated\n")
